using Weir.Lab.Resources;
using Weir.Lab.Statistics;

namespace Weir.Lab.Trials;

/// <summary>All windows of one arm, and what they say together.</summary>
internal sealed class ArmResult
{
    internal ArmResult(string name, long itemsPerPass, IReadOnlyList<Window> windows)
    {
        Name = name;
        ItemsPerPass = itemsPerPass;
        Windows = windows;

        // A window that was cut short counts only when there is nothing better.
        Window[] complete = [.. windows.Where(static w => !w.IsPartial)];
        Counted = complete.Length > 0 ? complete : windows;
    }

    /// <summary>The name of the arm.</summary>
    public string Name { get; }

    /// <summary>How many items a pass has.</summary>
    public long ItemsPerPass { get; }

    /// <summary>The windows in the order of their rounds. Empty when the run was stopped before.</summary>
    public IReadOnlyList<Window> Windows { get; }

    /// <summary>The windows that the figures are made of: the complete ones, or the partial one when there is no other.</summary>
    public IReadOnlyList<Window> Counted { get; }

    /// <summary>Whether the run was stopped before the arm had all its windows, or in the middle of one.</summary>
    public bool IsPartial { get; internal init; }

    /// <summary>Items per second over the counted windows.</summary>
    /// <exception cref="InvalidOperationException">There is no window.</exception>
    public Spread Rate => Over(static w => w.Rate);

    /// <summary>Nanoseconds per item over the counted windows.</summary>
    /// <exception cref="InvalidOperationException">There is no window.</exception>
    public Spread NanosecondsPerItem => Over(static w => w.NanosecondsPerItem);

    /// <summary>How many items the counted windows have.</summary>
    public long Items => Counted.Sum(static w => w.Items);

    /// <summary>What the process used over the counted windows.</summary>
    public ResourceUse Resources => Counted.Aggregate(default(ResourceUse), static (sum, w) => sum + w.Resources);

    /// <summary>A part of the counted windows' total that falls to some number of items.</summary>
    /// <param name="total">Picks the total.</param>
    /// <param name="items">The number of items.</param>
    /// <returns>The total, divided by all items and multiplied by <paramref name="items"/>.</returns>
    public double Per(Func<ResourceUse, double> total, long items)
    {
        ArgumentNullException.ThrowIfNull(total);
        return total(Resources) * items / Math.Max(Items, 1);
    }

    private Spread Over(Func<Window, double> value) =>
        Counted.Count > 0 ? Spread.Of(Counted.Select(value)) : throw new InvalidOperationException($"{Name} was not measured.");
}
