namespace Weir.Explore.Searching;

/// <summary>Each thread that can run is as likely as the others.</summary>
internal sealed class RandomChooser(int seed) : IChooser
{
    private readonly Random _random = new(seed);

    public int Choose(IReadOnlyList<ControlledThread> runnable, bool couldContinue) => _random.Next(runnable.Count);
}
