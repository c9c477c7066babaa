//! Rigid bodies and cords in a scene: where they end, and that their bits depend on nothing but the scene.

use drench_scene::Source;
use drench_sim::Simulation;
use glam::DVec3;

/// A crate falls on a plank that two cords hold, one of which tears; a ball is thrown at it later; a lamp swings in the wind.
const SCENE: &str = r#"
name = "yard"

[simulation]
frames = 20
substeps = 16

[ground]

[[wind]]
kind = "turbulent"
velocity = [1, 0, 0]
speed = 2
size = 0.3

[[solid]]
name = "plank"
shape = { kind = "box", size = [0.8, 0.04, 0.2] }
position = [0, 1, 0]
body = { density = 500 }

[[solid]]
name = "crate"
shape = { kind = "box", size = [0.2, 0.2, 0.2] }
position = [0.05, 1.3, 0]
rotation = "5 10 0 deg"
body = { mass = 6, restitution = 0 }

[[solid]]
name = "ball"
shape = { kind = "sphere", radius = 0.1 }
position = [-1, 1.1, 0]
body = { mass = 2, velocity = [6, 1, 0], release = 0.3 }

[[solid]]
name = "lamp"
shape = { kind = "box", size = [0.2, 0.15, 0.1] }
position = [0, 1.9, 0.6]
body = { mass = 0.3 }

[[cord]]
name = "left"
shape = { kind = "line", points = [[-0.35, 1.6, 0], [-0.35, 1.02, 0]] }
segments = 12
radius = 0.004
clamp = [{ at = "start" }, { at = "end", to = "plank" }]

[cord.material]
tension = { modulus = "20 MPa", rupture = "1.2 MPa" }

[[cord]]
name = "right"
like = "left"
shape = { kind = "line", points = [[0.35, 1.6, 0], [0.35, 1.02, 0]] }
clamp = [{ at = "start" }, { at = "end", to = "plank" }]

[cord.material]
tension = { modulus = "20 MPa" }

[[cord]]
name = "flex"
like = "right"
shape = { kind = "line", points = [[0, 2.5, 0.6], [0, 1.975, 0.6]] }
clamp = [{ at = "start", hold = "all" }, { at = "end", to = "lamp", hold = "all" }]

[cord.material]
tension = { modulus = "20 MPa" }
torsion = { modulus = "1 MPa" }

[[groom]]
name = "fringe"
on = "plank"
at = [[0, 0, 0.1]]
length = "10 cm"
"#;

fn simulation() -> Simulation {
    let source = Source::Text { name: "yard.toml".into(), text: SCENE.into(), directory: "".into() };
    let scene = drench_scene::load(source, None, &[]).unwrap_or_else(|problems| panic!("{problems}"));
    Simulation::build(&scene).expect("a yard")
}

#[test]
fn a_cord_tears_the_plank_falls_and_hair_goes_with_it() {
    let mut simulation = simulation();
    let mut torn = 0;
    for _ in 0..20 {
        torn = simulation.advance_frame().unwrap().counts["tears"];
    }
    assert_eq!(torn, 1);
    let stats = simulation.advance_frame().unwrap();
    let rigid = |name: &str| stats.bodies[name].rigid.unwrap();
    assert_eq!((stats.counts["cords"], stats.counts["rigid_bodies"], stats.counts["pieces"]), (3, 4, 4));
    assert!(rigid("crate").y < 0.3, "{:?}", stats.bodies);
    assert!(rigid("ball").x > -0.5, "it was let go");
    assert!(stats.bodies["flex"].cord.unwrap().twist.abs() > 1e-3, "the wind turns the lamp");
    assert!(stats.bodies["left"].cord.unwrap().pieces == 2 && stats.bodies["right"].cord.unwrap().pieces == 1);
    let frame = simulation.frame();
    let plank = frame.solids.iter().find(|solid| solid.name == "plank").unwrap().pose.unwrap();
    let root = frame.strands.iter().find(|body| body.name == "fringe").unwrap().positions[0];
    let root = DVec3::from(root.map(f64::from));
    let expected = plank.position + plank.rotation * DVec3::new(0.0, 0.0, 0.1);
    assert!(root.distance(expected) < 1e-5, "{root} {expected}");
    let left = frame.strands.iter().find(|body| body.name == "left").unwrap();
    assert_eq!((left.offsets.len(), left.positions.len()), (3, 14));
    assert!(
        ["radius", "tension", "twist", "normal", "velocity"].iter().all(|name| left.attributes.contains_key(*name))
    );
}

#[test]
fn bits_are_the_same_on_any_threads_and_after_a_restore() {
    let run = |threads: usize, restore_at: Option<usize>| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut simulation = self::simulation();
            for frame in 0..18 {
                if restore_at == Some(frame) {
                    let saved = simulation.checkpoint();
                    simulation = self::simulation();
                    simulation.restore(&saved).unwrap();
                }
                simulation.advance_frame().unwrap();
            }
            (simulation.checkpoint(), simulation.frame())
        })
    };
    let expected = run(1, None);
    // Before anything is let go, and after a tear.
    for (threads, restore_at) in [(2, None), (8, None), (2, Some(3)), (1, Some(14))] {
        assert!(run(threads, restore_at) == expected, "{threads} threads, restored at {restore_at:?}");
    }
}

#[test]
fn settling_keeps_bodies_that_wait() {
    let text = SCENE.replace("substeps = 16", "substeps = 16\nsettle = 0.3");
    let source = Source::Text { name: "yard.toml".into(), text, directory: "".into() };
    let scene = drench_scene::load(source, None, &[]).unwrap();
    let mut simulation = Simulation::build(&scene).unwrap();
    let stats = simulation.begin().unwrap();
    let x = |name: &str| stats.bodies[name].rigid.unwrap();
    assert_eq!((x("ball").x, x("ball").y), (-1.0, 1.1));
    assert!(x("crate").y < 1.3);
}
