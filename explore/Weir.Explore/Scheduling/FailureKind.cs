namespace Weir.Explore;

/// <summary>What is wrong with a schedule.</summary>
public enum FailureKind
{
    /// <summary>The body threw, or its task failed: an assertion, most often.</summary>
    Exception,

    /// <summary>A thread, a work item, a timer or an <c>async void</c> method ended with an exception that nobody takes.</summary>
    UnhandledException,

    /// <summary>A task failed, and nobody has looked at its exception when the schedule is over.</summary>
    UnobservedException,

    /// <summary>The body has not ended, and nobody can run.</summary>
    Deadlock,

    /// <summary>The schedule is longer than <see cref="ExploreOptions.MaxSteps"/>.</summary>
    Livelock,

    /// <summary>The body has ended, and a thread or work item that it began waits for something that nobody does.</summary>
    LeftRunning,

    /// <summary>Two threads access one location, one of them writes, and nothing orders them: see <see cref="ExploreOptions.DataRaces"/>.</summary>
    DataRace,

    /// <summary>A thread did not come to a point for <see cref="ExploreOptions.Patience"/>: it waits in a call that is not controlled, or never ends.</summary>
    Hang,
}
