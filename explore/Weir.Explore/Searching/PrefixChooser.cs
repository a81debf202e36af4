namespace Weir.Explore.Searching;

/// <summary>Chooses what it was given, and after that lets whoever runs go on.</summary>
internal sealed class PrefixChooser(byte[] prefix) : IChooser
{
    private int _next;

    /// <summary>What was to be chosen did not exist: the program is not the same each time.</summary>
    public bool HasDiverged { get; private set; }

    public int Choose(IReadOnlyList<ControlledThread> runnable, bool couldContinue)
    {
        int chosen = _next < prefix.Length ? prefix[_next] : 0;
        _next++;
        HasDiverged |= chosen >= runnable.Count;
        return chosen < runnable.Count ? chosen : 0;
    }
}
