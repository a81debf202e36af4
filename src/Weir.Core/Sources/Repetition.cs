namespace Weir.Core.Sources;

/// <summary>The data of an item that comes back for another attempt.</summary>
/// <param name="attempts">How many attempts were made.</param>
/// <param name="delay">The delay before this one.</param>
/// <param name="deadline">When the item's own time limit passes, as a timestamp of the run's clock; <see cref="long.MaxValue"/> for never.</param>
internal sealed class Repetition(int attempts, TimeSpan delay, long deadline)
{
    public int Attempts => attempts;

    public TimeSpan Delay => delay;

    public long Deadline => deadline;
}
