//! One file per command.

mod bench;
mod check;
mod export;
mod info;
mod plot;
mod render;
mod report;
mod run;
mod scenes;
mod sweep;
mod validate;
mod view;

use crate::cli::Command;
use crate::failure::Failure;

/// Runs the command.
pub fn dispatch(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Run(arguments) => run::run(arguments),
        Command::Scenes(arguments) => scenes::scenes(arguments),
        Command::Check(arguments) => check::check(arguments),
        Command::Render(arguments) => render::render(arguments),
        Command::Export(arguments) => export::export(arguments),
        Command::Info(arguments) => info::info(arguments),
        Command::Plot(arguments) => plot::plot(arguments),
        Command::Report(arguments) => report::report(arguments),
        Command::Sweep(arguments) => sweep::sweep(arguments),
        Command::Bench(arguments) => bench::bench(arguments),
        Command::Validate(arguments) => validate::validate(arguments),
        Command::View(arguments) => view::view(arguments),
    }
}

/// Sets the number of threads that everything uses; one per core if none is asked for. Returns it.
fn use_threads(threads: Option<u16>) -> Result<usize, Failure> {
    let threads = usize::from(threads.unwrap_or(0));
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()
        .map_err(|error| Failure::Input(format!("cannot start {threads} threads: {error}\n  fix: ask for fewer")))?;
    Ok(rayon::current_num_threads())
}
