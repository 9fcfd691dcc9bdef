# For ./x: the builds whose threads run on virtual cores.
# shellcheck shell=bash

# Puts the second half of `purloin virtual` beside the command: the command in a build for virtual cores.
virtual_cores() {
  local host
  host=$(rustc --version --verbose | sed -n 's/^host: //p')
  CARGO_TARGET_DIR=target/virtual RUSTFLAGS="--cfg purloin_virtual" RUSTC_WRAPPER=$PWD/crates/purloin-virtual/count-work \
    cargo build --release --package purloin-cli --features virtual --target "$host"
  cp "target/virtual/$host/release/purloin" target/release/purloin-virtual
}

# Random programs. With --timed, the library sleeps with time limits, which hide lost wake-ups; with --native, on
# the system's threads.
torture() {
  local flags="--cfg purloin_virtual --cfg purloin_untimed" target=untimed arguments=() argument
  for argument; do
    case $argument in
      --timed) flags="--cfg purloin_virtual" target=timed ;;
      --native) flags="" target=native ;;
      *) arguments+=("$argument") ;;
    esac
  done
  say "building"
  CARGO_TARGET_DIR=target/torture/$target RUSTFLAGS=$flags \
    cargo build --profile torture --package purloin-torture
  exec "target/torture/$target/torture/purloin-torture" "${arguments[@]}"
}
