using Weir.Lab.Suites.Peers.Dataflow;

namespace Weir.Tables.BlocksGrid;

/// <summary>A cell with the blocks of one library. Its runs are repeated until they fill a window.</summary>
/// <param name="library">Whose blocks they are.</param>
/// <param name="cell">The cell.</param>
/// <param name="run">Runs it once and gives the sum of what arrived.</param>
internal sealed class GridArm(string library, GridCell cell, Func<GridCell, Task<long>> run)
{
    // A run takes seconds at the most: a block that takes longer lost a message or a wake-up.
    private static readonly TimeSpan Longest = TimeSpan.FromMinutes(1);

    private int _runs = 1;

    /// <summary>Runs the cell for a while, and finds out how many runs fill a window.</summary>
    public async Task WarmUpAsync(TimeSpan least, TimeSpan window, CancellationToken cancellationToken)
    {
        long start = Stopwatch.GetTimestamp();
        do
        {
            long began = Stopwatch.GetTimestamp();
            await MeasureAsync(cancellationToken);
            _runs = (int)Math.Clamp(window / (Stopwatch.GetElapsedTime(began) / _runs), 1, 100_000);
        }
        while (Stopwatch.GetElapsedTime(start) < least);
    }

    /// <summary>Measures a window.</summary>
    /// <exception cref="GridFailedException">Messages were lost or came twice, a block failed, or a run does not end.</exception>
    public async Task<GridSample> MeasureAsync(CancellationToken cancellationToken)
    {
        try
        {
            // The window is waited for and not each run: a timer costs as much as some messages.
            return await MeasureWindowAsync(cancellationToken).WaitAsync(Longest, CancellationToken.None);
        }
        catch (TimeoutException late)
        {
            throw new GridFailedException($"the blocks of {library} did not end within {Longest.TotalSeconds:0} s", late);
        }
        catch (Exception failure) when (failure is not (OperationCanceledException or GridFailedException))
        {
            throw new GridFailedException($"the blocks of {library} failed: {failure.GetBaseException().GetType().Name}", failure);
        }
    }

    private async Task<GridSample> MeasureWindowAsync(CancellationToken cancellationToken)
    {
        long hops = ThreadPool.CompletedWorkItemCount;
        long began = Stopwatch.GetTimestamp();
        for (int i = 0; i < _runs; i++)
        {
            cancellationToken.ThrowIfCancellationRequested();
            long sum = await run(cell);
            if (sum != cell.Expected)
            {
                throw new GridFailedException(Invariant($"the messages from the blocks of {library} add up to {sum}, not {cell.Expected}"));
            }
        }

        double messages = (double)_runs * cell.Sent;
        return new(Stopwatch.GetElapsedTime(began).TotalNanoseconds / messages, (ThreadPool.CompletedWorkItemCount - hops) / messages);
    }
}
