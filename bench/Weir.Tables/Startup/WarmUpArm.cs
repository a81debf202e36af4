namespace Weir.Tables.Startup;

/// <summary>One way to do a kind of work, measured in processes of its own.</summary>
/// <param name="Work">The kind of work: a table of the page.</param>
/// <param name="Name">The arm.</param>
/// <param name="Items">How many items a call has.</param>
/// <param name="Prepare">Makes the call, which gives the sum of the results.</param>
internal sealed record WarmUpArm(string Work, string Name, int Items, Func<Func<Task<long>>> Prepare)
{
    /// <summary>The arm's name among all.</summary>
    public string Key => $"{Work}/{Name}";

    /// <summary>This arm, measured in a program whose Weir is compiled ahead of time.</summary>
    public WarmUpArm InCopy => this with { Work = $"{Work}, Weir compiled ahead" };

    /// <summary>What it is compared with; <see langword="null"/> for what the others of its work are compared with.</summary>
    public string? Baseline { get; init; }

    /// <summary>At most this ratio to the baseline.</summary>
    public double? MostRatio { get; init; }

    /// <summary>At most so many nanoseconds an item.</summary>
    public double? MostPerItem { get; init; }

    /// <summary>At most so many nanoseconds an item more than the baseline.</summary>
    public double? MostAdded { get; init; }
}
