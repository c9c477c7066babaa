//! The laws of physics and of sampling, as users check them.

mod common;

use common::Place;

#[test]
fn every_law_holds() {
    Place::new().drench("validate").exits(0);
}
