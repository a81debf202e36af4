namespace Weir.Explore.Scheduling;

/// <content>What comes before what.</content>
internal sealed partial class Execution
{
    /// <summary>Null if no data races are looked for.</summary>
    public RaceDetector? Races { get; private set; }

    /// <summary>A thread that may begin from now on.</summary>
    /// <param name="name">What it is, for messages.</param>
    /// <param name="body">What it does.</param>
    /// <param name="context">Where it does it; null for the default.</param>
    /// <param name="after">What its beginning comes after; null for what the calling thread has done.</param>
    public ControlledThread Create(string name, Action body, ExecutionContext? context, VectorClock? after = null)
    {
        Stores?.ShowAll();
        ControlledThread thread = new(this, ++_lastId, name, body, context);
        if (Races is not null)
        {
            after ??= ControlledThread.Current is { } me ? RaceDetector.Fork(me) : new VectorClock();
            thread.Clock.Join(after);
            thread.Clock.Increment(thread.Id);
        }

        if (!_isStopping)
        {
            _threads.Add(thread);
        }

        return thread;
    }
}
