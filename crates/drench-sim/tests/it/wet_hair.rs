//! Hair that gets wet in a scene, whatever moves its strands.

use drench_scene::Source;
use drench_sim::Simulation;

/// A brush in the rain, with settings of the model.
fn brush(model: &str, settings: &str) -> Simulation {
    let text = format!(
        r#"
name = "brush"

[simulation]
fps = 24
substeps = 6

[[solid]]
name = "clamp"
shape = {{ kind = "cylinder", radius = "2 cm", height = "1 cm" }}
position = [0, 0.2, 0]

[[groom]]
name = "brush"
on = "clamp"
strands = 60
length = "8 cm"
vertices = 9
density = "step(0.5, -ny)"
hang = 1.0
lay = 1.0
comb = [0, -1, 0]
strand = {{ model = "{model}", contact_radius = "0.3 mm" }}
{settings}
wet = {{ dampness = 0.5 }}

[wetting]
reach = "6 mm"

[liquid]
spacing = "4 mm"

[[liquid.emitter]]
kind = "rain"
position = [0, 0.16, 0.03]
size = [0.04, 0, 0.02]
rate = "40 mm/s"
velocity = "0 -1 -1 m/s"

[[liquid.drain]]
kind = "below"
height = 0
"#
    );
    let source = Source::Text { name: "brush".to_owned(), text, directory: Default::default() };
    let scene = drench_scene::load(source, None, &[]).expect("the scene is sound");
    let mut simulation = Simulation::build(&scene).expect("the scene can be built");
    simulation.begin().expect("it begins");
    simulation
}

#[test]
fn strands_of_every_model_soak_cling_and_lose_no_water() {
    for model in ["csm", "dftl", "pbd"] {
        let mut simulation = brush(model, "");
        let (mut before, mut last) = (None, None);
        for _ in 0..16 {
            let stats = simulation.advance_frame().unwrap();
            let error = stats.water.as_ref().unwrap().error;
            assert!(error.abs() <= 1e-9, "{model}: {error}");
            let hair = stats.bodies["brush"].hair.unwrap();
            let straightness = stats.bodies["brush"].straightness.unwrap();
            assert!(straightness > 0.8 && straightness < 1.2, "{model}: {straightness}");
            before.get_or_insert(hair);
            last = Some(hair);
        }
        let (before, last) = (before.unwrap(), last.unwrap());
        assert!(last.content > before.content + 0.05, "{model}: {} {}", before.content, last.content);
        assert!(last.clump_size > 1.2, "{model}: {}", last.clump_size);
    }
}

#[test]
fn drops_do_not_stretch_strands_that_are_swept_for_their_lengths() {
    let strain = |settings: &str| {
        let mut simulation = brush("pbd", settings);
        let strains = (0..16).map(|_| simulation.advance_frame().unwrap().bodies["brush"].strain.unwrap().max);
        strains.fold(0.0, f64::max)
    };
    let [swept, limited] = ["pbd = { iterations = 4, strain_limit = 10 }", "pbd = { iterations = 4 }"].map(strain);
    assert!(swept > 0.1, "passes alone leave {swept}");
    assert!(limited < 0.045, "{limited}");
}

/// A brush of curls that water makes straight, with what its hair does with water and what falls on it.
fn curls(wet: &str, more: &str) -> Simulation {
    let text = format!(
        r#"
name = "curls"

[simulation]
fps = 24
substeps = 6

[[solid]]
name = "clamp"
shape = {{ kind = "cylinder", radius = "1.5 cm", height = "1 cm" }}
position = [0, 0.2, 0]

[[groom]]
name = "brush"
on = "clamp"
strands = 30
length = "8 cm"
vertices = 17
density = "step(0.5, -ny)"
hang = 1.0
lay = 1.0
comb = [0, -1, 0]
curl = {{ radius = "4 mm", pitch = "2.5 cm" }}
strand = {{ model = "csm" }}
wet = {{ straight = true, {wet} }}

[wetting]
reach = 0
{more}
"#
    );
    let source = Source::Text { name: "curls".to_owned(), text, directory: Default::default() };
    let scene = drench_scene::load(source, None, &[]).expect("the scene is sound");
    let mut simulation = Simulation::build(&scene).expect("the scene can be built");
    simulation.begin().expect("it begins");
    simulation
}

#[test]
fn a_towel_takes_what_its_rate_says_while_it_is_there() {
    let mut simulation = curls("soak = 0, dampness = 1, towel = { start = 0.101, stop = 0.301, rate = 10 }", "");
    let mut contents = Vec::new();
    for _ in 0..12 {
        let stats = simulation.advance_frame().unwrap();
        assert!(stats.water.as_ref().unwrap().error.abs() <= 1e-9);
        contents.push(stats.bodies["brush"].hair.unwrap().content);
    }
    let dt = simulation.dt();
    let steps = (0.301 / dt).ceil() - (0.101 / dt).ceil();
    // Frames end at multiples of 42 ms: the towel comes in the third and goes in the eighth.
    assert!((contents[1] / contents[0] - 1.0).abs() < 1e-9, "{contents:?}");
    assert!((contents[8] / contents[1] / (-10.0 * steps * dt).exp() - 1.0).abs() < 1e-6, "{contents:?}");
    assert!((contents[11] / contents[8] - 1.0).abs() < 1e-9, "{contents:?}");
}

#[test]
fn hair_that_was_wet_is_as_it_was_once_it_is_dry() {
    let wet = "soak = 30, change = 20, stiffness = 0.4, drying = 8, fibre_drying = 20";
    let rain = |start: f64| {
        format!(
            r#"
[liquid]
spacing = "4 mm"

[[liquid.emitter]]
kind = "rain"
position = [0, 0.16, 0.03]
size = [0.04, 0, 0.02]
rate = "60 mm/s"
velocity = "0 -1 -1 m/s"
start = {start}
stop = {}

[[liquid.drain]]
kind = "below"
height = 0
"#,
            start + 0.6
        )
    };
    // The second is never rained on.
    let [mut rained, mut dry] = [rain(0.0), rain(1e3)].map(|rain| curls(wet, &rain));
    let softest = |simulation: &Simulation| {
        let wet = &simulation.world().scratch.strands[0].wet;
        wet.iter()
            .fold([1.0_f32, 0.0], |[stiffness, change], wet| [stiffness.min(wet.stiffness), change.max(wet.change)])
    };
    let mut advance = |frames: u32| {
        let mut straightness = [0.0; 2];
        for _ in 0..frames {
            for (simulation, straightness) in [&mut rained, &mut dry].into_iter().zip(&mut straightness) {
                *straightness = simulation.advance_frame().unwrap().bodies["brush"].straightness.unwrap();
            }
        }
        (straightness, softest(&rained))
    };
    let ([rained, dry], [stiffness, change]) = advance(15);
    assert!(rained > dry + 0.05, "wet curls are straighter: {rained} {dry}");
    assert!(stiffness < 0.5 && change > 0.8, "{stiffness} {change}");
    let ([rained, dry], [stiffness, change]) = advance(45);
    assert!((rained - dry).abs() < 0.01, "{rained} {dry}");
    assert!(stiffness > 0.999 && change < 1e-3, "{stiffness} {change}");
}
