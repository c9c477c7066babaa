//! Where a scene without cameras is seen from.

use drench_io::Frame;
use drench_render as render;
use drench_scene as scene;
use glam::Vec3;

/// A view that has everything of a frame in it, for scenes without a camera.
pub fn framing_view(scene: &scene::Scene, frame: &Frame, width: u32, height: u32) -> render::View {
    let visible = |name: &str| scene.solids.iter().all(|solid| solid.name != name || solid.visible);
    // A plane is endless to the eye; what stands on it is what is looked at.
    let flat = |name: &str| {
        scene.solids.iter().any(|solid| solid.name == name && matches!(solid.shape, scene::Shape::Plane { .. }))
    };
    let strands = frame.strands.iter().flat_map(|body| &body.positions);
    let solids = frame.solids.iter().filter(|solid| visible(&solid.name) && !flat(&solid.name));
    let points = strands.chain(solids.flat_map(|solid| &solid.positions)).map(|&p| Vec3::from_array(p));
    let (low, high) = points
        .filter(|point| point.is_finite())
        .fold((Vec3::INFINITY, Vec3::NEG_INFINITY), |(low, high), point| (low.min(point), high.max(point)));
    let (centre, radius) =
        if low.x <= high.x { (0.5 * (low + high), 0.5 * low.distance(high)) } else { (Vec3::ZERO, 1.0) };
    let field_of_view = 30_f32.to_radians();
    // The narrower side of the picture must hold the ball around everything, with a margin for what moves.
    let aspect = (width as f32 / height.max(1) as f32).min(1.0);
    let half = ((0.5 * field_of_view).tan() * aspect).atan();
    let distance = 1.15 * radius.max(1e-3) / half.sin();
    render::View {
        position: centre + distance * Vec3::new(0.35, 0.25, 1.0).normalize(),
        target: centre,
        field_of_view,
        ..render::View::default()
    }
}
