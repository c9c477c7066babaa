//! The `drench` command: one file per command, this one only picks it and turns its outcome into an exit code.

mod cli;
mod commands;
mod expectations;
mod failure;
mod framing;
mod interrupt;

mod pictures;
mod progress;
mod scene_argument;
mod text;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match commands::dispatch(&cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.tell();
            ExitCode::from(failure.code())
        }
    }
}
