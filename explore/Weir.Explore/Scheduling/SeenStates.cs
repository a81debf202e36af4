namespace Weir.Explore.Scheduling;

/// <summary>
/// The states in which a search has made its choices. Schedules come in the order of their preemptions, so one that comes to a state again has no more
/// preemptions left there than the first one had: what follows was, or will be, searched from there.
/// </summary>
internal sealed class SeenStates
{
    private readonly HashSet<ulong> _seen = [];
    private readonly List<ulong> _new = [];
    private int _from;

    public Conflicts Conflicts { get; } = new();

    /// <summary>Whether threads are told apart by their numbers, because the program has asked for one.</summary>
    public bool IdsMatter { get; private set; }

    /// <summary>Before a schedule whose choices before <paramref name="from"/> are those of another one.</summary>
    public void Begin(int from)
    {
        _from = from;
        _new.Clear();
        Conflicts.Clear();
    }

    /// <summary>False if nothing that follows this choice is new.</summary>
    public bool IsNew(int choice, ulong state)
    {
        if (choice < _from || Conflicts.IsLost)
        {
            return true;
        }

        _new.Add(state);
        return !_seen.Contains(state);
    }

    /// <summary>The schedule counts: it is not run again because something was lost.</summary>
    public void Keep() => _seen.UnionWith(_new);

    /// <summary>What was taken for the same may not be: the search has to begin again.</summary>
    public void TellIdsApart()
    {
        IdsMatter = true;
        _seen.Clear();
    }
}
