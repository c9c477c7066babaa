//! The tables of [Henne2013, 3.4.1]: iterations that position-based dynamics needs for a rope of 30 particles, published and ours.
//!
//! `cargo run --release -p drench-sim --example iterations`

use drench_physics::strands::pbd::{Iterations, MassLaw};
use drench_sim::SimError;
use drench_sim::validate::iterations::{WHOLE, falling, moving};

/// Every segment within 10 %.
const SEGMENTS: Iterations = Iterations::Segment { stretch: 0.1, least: 4, most: 1000 };

fn main() -> Result<(), SimError> {
    println!("| rope | particle distance | k | published: mean, max | ours: mean, max |");
    println!("|---|---|---|---|---|");
    for (spacing, k, published) in
        [(0.04, 1.0, "5.3, 13"), (0.04, 1.65, "4.0, 4"), (0.02, 1.0, "8.6, 20"), (0.02, 1.65, "4.0, 6")]
    {
        let (mean, most) = falling(spacing, k)?;
        println!("| falling, length within 5 % | {spacing} | {k} | {published} | {mean:.1}, {most} |");
    }
    let rows = [
        ("2 m/s", 2.0, MassLaw::Even, WHOLE, [(1.0, "17.5, 60"), (1.6, "4.4, 10"), (1.0, "22.7, 93"), (1.6, "4.7, 9")]),
        (
            "4 m/s",
            4.0,
            MassLaw::Even,
            WHOLE,
            [(1.0, "51.0, 118"), (1.65, "10.3, 22"), (1.0, "74.1, 134"), (1.65, "14.4, 30")],
        ),
        (
            "4 m/s, masses 1/i",
            4.0,
            MassLaw::Uneven,
            WHOLE,
            [(1.0, "26.6, 65"), (1.65, "5.5, 11"), (1.0, "38.6, 78"), (1.65, "7.0, 14")],
        ),
        (
            "4 m/s, every segment within 10 %",
            4.0,
            MassLaw::Even,
            SEGMENTS,
            [(1.0, "42.0, 95"), (1.65, "22.9, 76"), (1.0, "62.5, 113"), (1.65, "33.1, 56")],
        ),
    ];
    for (name, speed, mass, until, cases) in rows {
        for (index, (k, published)) in cases.into_iter().enumerate() {
            let spacing = if index < 2 { 0.04 } else { 0.02 };
            let (mean, most) = moving(spacing, speed, k, mass, until)?;
            println!("| {name} | {spacing} | {k} | {published} | {mean:.1}, {most} |");
        }
    }
    Ok(())
}
