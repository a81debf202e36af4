using System.Runtime.CompilerServices;
using Weir.Core.Dispatch;
using Weir.Core.Metering;

namespace Weir.Observability;

/// <summary>A run under way, as the meter counts it. Two are equal if they are of the same run.</summary>
internal sealed class MeasuredRun(LiveRun run) : IMeasuredRun, IEquatable<MeasuredRun>
{
    private readonly IMeasuredRun? _own = run.About as IMeasuredRun;
    private RunLabel? _label;

    public LiveRun Run => run;

    /// <summary>The label. To ask for it the first time shows the caller's tags as text, which may run user code.</summary>
    public RunLabel Label => _label ??= _own?.Label ?? RunLabel.Of(run.Operation!, run.About as ParallelRunOptions ?? ParallelRunOptions.Default);

    public RunSample Sample() => _own?.Sample() ?? run.Sample();

    public bool Equals(MeasuredRun? other) => other?.Run == run;

    public override bool Equals(object? obj) => Equals(obj as MeasuredRun);

    public override int GetHashCode() => RuntimeHelpers.GetHashCode(run);
}
