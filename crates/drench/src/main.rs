//! The `drench` command: one file per command, this one only picks it and turns its outcome into an exit code.

mod chart;
mod cli;
mod commands;
mod expectations;
mod failure;
mod framing;
mod interrupt;

mod pictures;
mod plots;
mod progress;
mod scene_argument;
mod text;

use clap::Parser;
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    let outcome = commands::dispatch(&cli.command).and_then(|()| match text::lost() {
        true => Err(Failure::Storage("standard output is full: what was printed is not complete".to_owned())),
        false => Ok(()),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.tell();
            ExitCode::from(failure.code())
        }
    }
}
