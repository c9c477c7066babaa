//! Physical validation: laws with a closed form, measured figures, and promises of the program, each with what is
//! expected, what came out and how far off it may be.
//!
//! | file | what it checks |
//! |---|---|
//! | [`strands`] | single strands against mechanics |
//! | [`csm`] | chain shape matching against mechanics, and its stiffness index |
//! | [`cords`] | cords against mechanics: tension, curves, rupture, twist |
//! | [`collision`] | strands against strands |
//! | [`liquid`] | liquids against measurements, closed forms and conservation |
//! | [`sloshing`] | water that sloshes in the tank of a scene |
//! | [`drops`] | drops against Rayleigh's period, Laplace's pressure and the shapes of Young and Laplace |
//! | [`iterations`] | solver iterations against the tables of [Henne2013, 3.4.1] |
//! | [`sampling`] | Poisson-disk sets against their definition |
//! | [`grains`] | grains, dry and wet, against mechanics and measurements |
//! | [`hair`] | water in hair against closed forms and conservation |
//! | [`cling`] | wet strands that cling to each other |
//! | [`promises`] | the same bits on any number of threads and after a resume |

mod bench_cord;
mod bench_strand;
mod cling;
mod collision;
mod cords;
mod csm;
mod drops;
mod grains;
mod hair;
pub mod iterations;
mod linking;
mod liquid;
mod promises;
mod sampling;
mod sloshing;
mod strands;

pub use bench_strand::BenchStrand;

use crate::SimError;
use serde::Serialize;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

/// Gravity of the experiments [m/s2].
const GRAVITY: f64 = 9.81;

/// One law and how to check it.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Name, by which it is asked for.
    pub name: &'static str,
    /// The law, in words or as a formula.
    pub law: &'static str,
    run: fn() -> Result<Measured, SimError>,
}

/// What a check measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    expected: f64,
    got: f64,
    /// Largest error that passes, in the unit of `error`.
    tolerance: f64,
    error: f64,
}

impl Measured {
    /// A value that must agree with the expected one to a relative tolerance.
    fn relative(expected: f64, got: f64, tolerance: f64) -> Self {
        Self { expected, got, tolerance, error: (got - expected).abs() / expected.abs() }
    }

    /// A value that must not exceed a limit.
    fn at_most(limit: f64, got: f64) -> Self {
        Self { expected: 0.0, got, tolerance: limit, error: got.abs() }
    }

    /// A count of differences, of which there must be none.
    fn none(differences: usize) -> Self {
        Self { expected: 0.0, got: differences as f64, tolerance: 0.0, error: differences as f64 }
    }
}

/// The outcome of a case.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Name of the case.
    pub name: &'static str,
    /// The law.
    pub law: &'static str,
    /// What the law says.
    pub expected: f64,
    /// What came out.
    pub got: f64,
    /// How far off it is: relative, or absolute where 0 is expected.
    pub error: f64,
    /// How far off it may be.
    pub tolerance: f64,
    /// Whether it is close enough.
    pub pass: bool,
    /// How long it took [s].
    pub seconds: f64,
}

impl Case {
    fn run(&self) -> Result<Outcome, SimError> {
        let start = Instant::now();
        let Measured { expected, got, tolerance, error } = (self.run)()?;
        Ok(Outcome {
            name: self.name,
            law: self.law,
            expected,
            got,
            error,
            tolerance,
            // Written so that NaN fails.
            pass: error <= tolerance,
            seconds: start.elapsed().as_secs_f64(),
        })
    }
}

/// Runs checks side by side and says which begin: most are too small to fill several threads. Outcomes are in the order of the checks.
pub fn run(cases: &[Case], begins: impl Fn(&Case) + Sync) -> Result<Vec<Outcome>, SimError> {
    let threads = thread::available_parallelism().map_or(1, Into::into);
    let workers = threads.min(cases.len()).max(1);
    let (waiting, outcomes) = (Mutex::new(cases.iter().enumerate()), Mutex::new(Vec::new()));
    let next = || waiting.lock().expect("nobody panics while holding it").next();
    let work = || {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads / workers).build().expect("threads can be had");
        while let Some((number, case)) = next() {
            begins(case);
            let outcome = pool.install(|| case.run());
            outcomes.lock().expect("nobody panics while holding it").push((number, outcome));
        }
    };
    thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    let mut outcomes = outcomes.into_inner().expect("nobody panics while holding it");
    outcomes.sort_unstable_by_key(|(number, _)| *number);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

/// Every check, in the order of the docs.
pub fn cases() -> Vec<Case> {
    let all = [
        strands::CASES,
        csm::CASES,
        cords::CASES,
        linking::CASES,
        collision::CASES,
        iterations::CASES,
        sampling::CASES,
        liquid::CASES,
        sloshing::CASES,
        drops::CASES,
        grains::CASES,
        hair::CASES,
        cling::CASES,
        promises::CASES,
    ];
    all.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_a_nan_fails() {
        let mut names: Vec<_> = cases().iter().map(|case| case.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        let broken = Case { name: "nan", law: "", run: || Ok(Measured::relative(1.0, f64::NAN, 1.0)) };
        let sound = Case { name: "sound", law: "", run: || Ok(Measured::none(0)) };
        let outcomes = run(&[broken, sound, broken], |_| ()).unwrap();
        assert_eq!(outcomes.iter().map(|outcome| outcome.pass).collect::<Vec<_>>(), [false, true, false]);
    }
}
