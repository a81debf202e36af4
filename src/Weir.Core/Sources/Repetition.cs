using Weir.Core.Metering;

namespace Weir.Core.Sources;

/// <summary>The data of an item that comes back for another attempt.</summary>
/// <param name="attempts">How many attempts were made.</param>
/// <param name="delay">The delay before this one.</param>
/// <param name="deadline">
/// When the item's own time limit passes, as a timestamp of the run's clock; <see cref="long.MaxValue"/> for never. For an item whose clock stands still, the
/// time that is left.
/// </param>
/// <param name="kind">What it waits for.</param>
/// <param name="since">When it began to wait, as a timestamp of the run's clock.</param>
/// <param name="stopped">Whether the item's clock stood still while it waited.</param>
/// <param name="before">The item's wait before this one, if it made no call since; otherwise null.</param>
internal sealed class Repetition(
    int attempts, TimeSpan delay, long deadline, WaitKind kind, long since, bool stopped = false, Repetition? before = null)
{
    public int Attempts => attempts;

    public TimeSpan Delay => delay;

    public WaitKind Kind => kind;

    public long Since => since;

    /// <summary>
    /// When it began to wait for this, counting the waits right before it: an item that finds its circuit open again each time waits once, and long.
    /// </summary>
    public long First { get; } = before?.Kind == kind ? before.First : since;

    /// <summary>When the item's own time limit passes, for an attempt that begins at a given time.</summary>
    public long DeadlineAt(long start) => stopped && deadline != long.MaxValue ? start + deadline : deadline;
}
