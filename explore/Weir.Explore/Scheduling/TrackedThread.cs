namespace Weir.Explore.Scheduling;

/// <summary>
/// What a schedule records of a thread: where it is, which steps of others come before its next one (<see cref="RaceDetector"/>), and what it has done and
/// observed (<see cref="Conflicts"/>). It knows nothing of how threads are resumed: that is <see cref="ControlledThread"/>.
/// </summary>
internal abstract class TrackedThread(int id, string name)
{
    public int Id => id;
    public string Name => name;

    /// <summary>The last point that it came to.</summary>
    public string Site { get; set; } = "its start";

    /// <summary>The steps that happen before its next one.</summary>
    public VectorClock Clock { get; } = new();

    /// <summary>Who it is, whatever its number: what began it, and when.</summary>
    public ulong Identity { get; set; }

    /// <summary>What it has done and observed.</summary>
    public ulong Past { get; set; }

    /// <summary>The threads that make a step before its next one.</summary>
    public abstract IReadOnlyList<TrackedThread> YieldsTo { get; }

    /// <summary>Where its stack begins.</summary>
    protected nint StackBase { get; set; }

    public override string ToString() => $"{Id} {Name}";

    /// <summary>Whether a location is a variable of this thread, which runs.</summary>
    public unsafe bool IsOnStack<T>(ref T location)
    {
        byte here;
        nint address = (nint)Unsafe.AsPointer(ref location);
        return address < StackBase && address > (nint)(&here);
    }
}

/// <summary>One step of a schedule: which thread ran from which point.</summary>
internal readonly record struct TraceLine(int Id, string Name, string Site);

/// <summary>For each thread, by its number, how many of its steps happen before something.</summary>
internal sealed class VectorClock
{
    private int[] _times = [];

    public int this[int id] => id < _times.Length ? _times[id] : 0;

    public void Join(VectorClock other)
    {
        int[] times = other._times;
        Array.Resize(ref _times, Math.Max(_times.Length, times.Length));
        for (int i = 0; i < times.Length; i++)
        {
            _times[i] = Math.Max(_times[i], times[i]);
        }
    }

    public void Increment(int id)
    {
        Array.Resize(ref _times, Math.Max(_times.Length, id + 1));
        _times[id]++;
    }
}
