namespace Weir.Lab.Workers;

/// <summary>Receives the progress of a run. It is called between windows, or while none counts, so it may draw.</summary>
internal interface IRunObserver
{
    /// <summary>The unmeasured warm-up begins.</summary>
    void WarmingUp()
    {
    }

    /// <summary>The warm-up has ended.</summary>
    /// <param name="batch">How many operations are to go between two looks at the clock; <see langword="null"/> with several groups.</param>
    void WarmedUp(int? batch)
    {
    }

    /// <summary>
    /// How many it is to be instead in the rounds, because other runs that take turns have found another number; <see langword="null"/> for its own.
    /// What a look costs is in the rate, so things that are compared must have batches of one size.
    /// </summary>
    int? Batch => null;

    /// <summary>Called before each round, after the warm-up. If several things are measured in turns, the run waits here for its turn.</summary>
    /// <param name="round">The number of the round, from 1.</param>
    /// <param name="cancellationToken">Is cancelled when the run is stopped.</param>
    /// <returns>Whether to measure the round; otherwise the run is complete with those before it.</returns>
    ValueTask<bool> MayStartAsync(int round, CancellationToken cancellationToken) => new(true);

    /// <summary>A round begins.</summary>
    /// <param name="round">Its number, from 1.</param>
    /// <param name="rounds">How many there are.</param>
    void RoundStarted(int round, int rounds)
    {
    }

    void RoundEnded(WorkerRound round, int rounds)
    {
    }

    /// <summary>Called if something has been waited for unusually long. At <see cref="WorkerRunSpec.DrainLimit"/>, the run is abandoned.</summary>
    /// <param name="what">What has not happened yet, such as <c>a worker to end its first operation</c> or <c>SetupAsync to end</c>.</param>
    void Waiting(string what)
    {
    }
}
