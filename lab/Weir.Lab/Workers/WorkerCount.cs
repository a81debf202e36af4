namespace Weir.Lab.Workers;

/// <summary>What one worker did in a window.</summary>
/// <param name="Group">The name of its group.</param>
/// <param name="Worker">Its number among all, from 0.</param>
/// <param name="Operations">How many operations it began in the window and completed.</param>
/// <param name="Seconds">How long the window was; where each worker does a number of operations, how long its own took.</param>
/// <param name="LongestGap">The longest time in which it completed nothing.</param>
internal sealed record WorkerCount(string Group, int Worker, long Operations, double Seconds, TimeSpan LongestGap)
{
    /// <summary>How many operations it did in the window, with the part that lies in it of those that were under way at its beginning and at its end.</summary>
    public double Work { get; init; } = Operations;

    /// <summary>Operations per second: <see cref="Work"/> divided by <see cref="Seconds"/>.</summary>
    public double Rate => Seconds > 0 ? Work / Seconds : 0;
}
