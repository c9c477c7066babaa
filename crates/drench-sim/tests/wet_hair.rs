//! Hair that gets wet in a scene, whatever moves its strands.

use drench_scene::Source;
use drench_sim::Simulation;

/// A brush in the rain.
fn brush(model: &str) -> Simulation {
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
        let mut simulation = brush(model);
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
