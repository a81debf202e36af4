namespace Weir.Lab.Workers;

/// <summary>What one worker did in a window.</summary>
/// <param name="Group">The name of its group.</param>
/// <param name="Worker">Its number among all, from 0.</param>
/// <param name="Operations">How many operations it completed.</param>
/// <param name="Seconds">How long its part of the window was.</param>
/// <param name="LongestGap">The longest time in which it completed nothing.</param>
public sealed record WorkerCount(string Group, int Worker, long Operations, double Seconds, TimeSpan LongestGap)
{
    /// <summary>Operations per second.</summary>
    public double Rate => Seconds > 0 ? Operations / Seconds : 0;
}
