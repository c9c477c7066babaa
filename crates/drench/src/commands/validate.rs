//! `drench validate`: laws, what they say, and what came out.

use crate::cli::ValidateArguments;
use crate::failure::Failure;
use crate::text;
use drench_sim::validate::{self, Outcome};
use serde_json::json;

/// Runs the checks whose name begins with what was asked for, or all.
pub fn validate(arguments: &ValidateArguments) -> Result<(), Failure> {
    let wanted = arguments.name.as_deref().unwrap_or("");
    let cases: Vec<_> = validate::cases().into_iter().filter(|case| case.name.starts_with(wanted)).collect();
    if cases.is_empty() {
        let names: Vec<_> = validate::cases().iter().map(|case| case.name).collect();
        return Err(Failure::Input(format!("no check is called {wanted}\n  there are: {}", names.join(", "))));
    }
    let outcomes = validate::run(&cases, |case| {
        if !arguments.json {
            text::error_line(&format!("checking {}", case.name));
        }
    })?;
    if arguments.json {
        text::json(&json!(outcomes));
    } else {
        text::line(&table(&outcomes));
    }
    let failed: Vec<_> = outcomes.iter().filter(|outcome| !outcome.pass).map(|outcome| outcome.name).collect();
    if !failed.is_empty() {
        let message = format!("{} of {} checks failed: {}", failed.len(), outcomes.len(), failed.join(", "));
        return Err(Failure::Validation(message));
    }
    if !arguments.json {
        text::line(&format!("\n{} passed, 0 failed", outcomes.len()));
    }
    Ok(())
}

fn table(outcomes: &[Outcome]) -> String {
    let row = |outcome: &Outcome| {
        vec![
            if outcome.pass { "pass" } else { "FAIL" }.to_owned(),
            outcome.name.to_owned(),
            text::figure(outcome.expected),
            text::figure(outcome.got),
            text::figure(outcome.error),
            text::figure(outcome.tolerance),
            format!("{:.1}", outcome.seconds),
            outcome.law.to_owned(),
        ]
    };
    let heading = ["", "check", "expected", "got", "error", "tolerance", "s", "law"];
    text::table(&heading, &outcomes.iter().map(row).collect::<Vec<_>>())
}
