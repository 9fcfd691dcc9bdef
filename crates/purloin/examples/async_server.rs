//! Answers requests over TCP: a number asks for the number of primes below it, `ping` for `pong`.
//! It shows parallel work in an asynchronous program: tokio's only thread reads and writes, the
//! pool counts, and no `ping` waits for a count. Without an address, it is a client, too.
//!
//! Run it: `cargo run --release --example async_server [ADDRESS]`

use std::error::Error;
use std::time::{Duration, Instant};

use purloin::{Pool, Token, Worker};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Result};
use tokio::net::{TcpListener, TcpStream};
use tokio::{task, time};

/// The parallel work, which never runs on tokio's thread.
async fn count_primes(pool: &Pool, limit: u64) -> u64 {
    let is_prime = |n: u64| u64::from(n > 1 && (2..=n.isqrt()).all(|d| !n.is_multiple_of(d)));
    let count = move |mut w: Token| w.par(0..limit).map(is_prime).sum();
    pool.run_async(count).await
}

/// Answers the requests of one client, in order.
async fn answer(mut client: TcpStream, pool: &Pool) -> Result<()> {
    let (requests, mut answers) = client.split();
    let mut requests = BufReader::new(requests).lines();
    while let Some(request) = requests.next_line().await? {
        let answer = match (request.as_str(), request.parse()) {
            ("ping", _) => "pong\n".into(),
            (_, Ok(limit)) => format!("{} primes below {limit}\n", count_primes(pool, limit).await),
            (_, Err(error)) => format!("{request}: {error}\n"),
        };
        answers.write_all(answer.as_bytes()).await?;
    }
    Ok(())
}

async fn serve(listener: TcpListener, pool: &'static Pool) -> Result<()> {
    loop {
        task::spawn(answer(listener.accept().await?.0, pool));
    }
}

async fn ask(server: std::net::SocketAddr, request: String) -> Result<String> {
    let mut stream = TcpStream::connect(server).await?;
    stream.write_all((request + "\n").as_bytes()).await?;
    let answer = BufReader::new(stream).lines().next_line().await?;
    Ok(answer.unwrap_or_default())
}

/// Asks for four counts at once, and meanwhile sends one `ping` after the other.
async fn demonstrate(server: std::net::SocketAddr) -> Result<()> {
    let asks = [1, 2, 3, 4].map(|n| ask(server, format!("{n}000000")));
    let counts = asks.map(task::spawn);
    let mut longest = Duration::ZERO;
    while !counts.iter().all(|count| count.is_finished()) {
        let sent = Instant::now();
        assert_eq!(ask(server, "ping".into()).await?, "pong");
        longest = longest.max(sent.elapsed());
        time::sleep(Duration::from_millis(1)).await;
    }
    for count in counts {
        println!("{}", count.await??);
    }
    println!("meanwhile the longest ping took {longest:.0?}");
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::result::Result<(), Box<dyn Error>> {
    let (address, pool) = (std::env::args().nth(1), purloin::global()?);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:0")).await?;
    let server = listener.local_addr()?;
    println!("serving on {server}");
    let serving = task::spawn(serve(listener, pool));
    match address {
        Some(_) => Ok(serving.await??),
        None => Ok(demonstrate(server).await?),
    }
}
