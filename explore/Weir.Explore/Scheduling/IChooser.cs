namespace Weir.Explore.Scheduling;

/// <summary>Chooses at each point of one schedule which thread goes on.</summary>
internal interface IChooser
{
    /// <summary>The index in <paramref name="runnable"/>, which has at least two; the first is the running one if it can go on.</summary>
    int Choose(IReadOnlyList<ControlledThread> runnable, bool couldContinue);

    /// <summary>The running thread waits in a loop: it lets others go first.</summary>
    void Yielded(ControlledThread thread)
    {
    }
}
