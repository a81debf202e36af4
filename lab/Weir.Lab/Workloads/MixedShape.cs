namespace Weir.Lab.Workloads;

/// <summary>Which items wait, how long, and whether they compute as well.</summary>
internal sealed record MixedShape(int PickedOneIn, int WaitGrains, bool PickedCompute)
{
    /// <summary>A little computing for every item, and a wait for some, as work with a cache in front of a distant store has.</summary>
    public static MixedShape Cache { get; } = new(10, 100, true);

    /// <summary>Computing for one half, and a wait for the other.</summary>
    public static MixedShape Halves { get; } = new(2, 100, false);

    /// <summary>How many grains an item takes on average, if one after the other is done.</summary>
    public double Grains => (PickedCompute ? 1 : 1 - (1.0 / PickedOneIn)) + ((double)WaitGrains / PickedOneIn);
}
