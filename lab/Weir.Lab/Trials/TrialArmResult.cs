using Weir.Lab.Statistics;

namespace Weir.Lab.Trials;

/// <summary>All windows of one arm, and what they say together.</summary>
internal sealed class TrialArmResult
{
    internal TrialArmResult(string name, IReadOnlyList<Window> windows)
    {
        Name = name;
        Windows = windows;

        // A window that was cut short counts only when there is nothing better.
        Window[] complete = [.. windows.Where(static w => !w.IsPartial)];
        Counted = complete.Length > 0 ? complete : windows;
    }

    /// <summary>The name of the arm.</summary>
    public string Name { get; }

    /// <summary>The windows in the order of their rounds. Empty when the run was stopped before.</summary>
    public IReadOnlyList<Window> Windows { get; }

    /// <summary>The windows that the figures are made of: the complete ones, or the partial one when there is no other.</summary>
    public IReadOnlyList<Window> Counted { get; }

    /// <summary>Whether the run was stopped before the arm had all its windows, or in the middle of one.</summary>
    public bool IsPartial { get; internal init; }

    /// <summary>Items per second over the counted windows.</summary>
    /// <exception cref="InvalidOperationException">There is no window.</exception>
    public Spread Rate => Counted.Count > 0 ? Spread.Of(Counted.Select(static w => w.Rate)) : throw new InvalidOperationException($"{Name} was not measured.");
}
