module purloin/peer

go 1.21
