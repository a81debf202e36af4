using System.Diagnostics;

namespace Weir.Dataflow.Metering;

/// <summary>A call that goes on and is watched.</summary>
/// <param name="Span">Its span, if the sampler chose it.</param>
/// <param name="Began">When it began.</param>
internal readonly record struct OpenCall(Activity? Span, long Began);
