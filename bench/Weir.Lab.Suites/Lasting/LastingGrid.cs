using System.Diagnostics;
using System.Text;
using Weir.Lab.Resources;
using static System.FormattableString;

namespace Weir.Lab.Suites.Lasting;

/// <summary>Weir's time as a share of in-box's, for blocks of which some calls last: by share, length and kind of these calls, workers and block.</summary>
internal sealed class LastingGrid : IDisposable
{
    /// <summary>A greater ratio counts as slower: a cell varies by a few percent from run to run.</summary>
    private const double Slower = 1.05;

    private const int Rounds = 3;

    /// <summary>A cell that seems slower is measured again, because a run has only a few calls of milliseconds.</summary>
    private const int MoreRounds = 6;

    /// <summary>For the blocks after the first: what they have of their own does not depend on it.</summary>
    private const int FewWorkers = 16;

    private static readonly double[] Lengths = [0.1, 1, 10];
    private static readonly int[] Workers = [2, 8, 16];

    private readonly double _stepsPerSecond = CalibratedSpin.MeasureStepsPerSecond();
    private readonly WaitThread[] _waits = [.. Lengths.Select(static length => new WaitThread(TimeSpan.FromMilliseconds(length)))];

    public void Dispose() => Array.ForEach(_waits, static waits => waits.Dispose());

    /// <summary>Measures all cells and gives the table.</summary>
    public async Task<string> MeasureAsync()
    {
        // Otherwise, sleeping calls would measure how fast the pool adds threads, for both.
        ThreadPool.GetMinThreads(out int threads, out int ports);
        ThreadPool.SetMinThreads(Math.Max(threads, Workers[^1] + 4), ports);
        try
        {
            return await MeasureAllAsync();
        }
        finally
        {
            ThreadPool.SetMinThreads(threads, ports);
        }
    }

    private async Task<string> MeasureAllAsync()
    {
        StringBuilder table = new();
        table.Append(
            "Weir's time divided by in-box's. One call in N lasts for the given time: every N-th, or (r) chosen at random. The others do nothing.\n\n");
        table.Append("| block, a call that lasts, workers |");
        table.AppendJoin("", LastingCell.Shares.Select(static share => Invariant($" 1/{share} | r |"))).Append('\n');
        table.Append("|---|").AppendJoin("", LastingCell.Shares.Select(static _ => "---:|---:|")).Append('\n');
        int cells = 0;
        List<string> slower = [];
        foreach (BlockKind block in Enum.GetValues<BlockKind>())
        {
            foreach (CallKind kind in Enum.GetValues<CallKind>())
            {
                foreach (double length in Lengths)
                {
                    foreach (int workers in Workers.Where(workers => block == BlockKind.Action || workers == FewWorkers))
                    {
                        string row = Invariant($"{block}, {kind} {length} ms, {workers}");
                        table.Append(Invariant($"| {row} |"));
                        foreach (int share in LastingCell.Shares)
                        {
                            foreach (bool random in (bool[])[false, true])
                            {
                                double ratio = await MeasureAsync(new LastingCell(block, kind, length, workers, share, random));
                                table.Append(Invariant($" {ratio:0.00} |"));
                                cells++;
                                if (ratio > Slower)
                                {
                                    slower.Add(Invariant($"{row}, 1/{share}{(random ? " r" : "")}: {ratio:0.00}"));
                                }
                            }
                        }

                        table.Append('\n');
                    }
                }
            }
        }

        table.Append(Invariant(
            $"\n- Never slower than in-box, but for {Slower - 1:P0} that a cell differs by from run to run: {cells - slower.Count} of {cells} cells, "));
        return table.Append(slower.Count == 0 ? "met" : Invariant($"**missed by** {string.Join("; ", slower)}")).ToString();
    }

    private async Task<double> MeasureAsync(LastingCell cell)
    {
        LastingCalls calls = new(
            cell.Kind,
            cell.Lasts(),
            CalibratedSpin.Of(TimeSpan.FromMilliseconds(cell.Milliseconds), _stepsPerSecond),
            _waits[Array.IndexOf(Lengths, cell.Milliseconds)]);
        Func<Task>[] arms =
        [
            () => InBoxBlocks.LastingAsync(calls, cell.Block, cell.Workers),
            () => WeirBlocks.LastingAsync(calls, cell.Block, cell.Workers),
        ];
        Heap.Collect();
        List<double> ratios = [];
        double[] times = new double[arms.Length];
        await RoundRunner.TakeTurnsAsync(
            arms.Length,
            round => round < Rounds || (round < Rounds + MoreRounds && (round > Rounds || Spread.Of(ratios).Median > Slower)),
            async (arm, _) =>
            {
                long start = Stopwatch.GetTimestamp();
                await arms[arm]();
                times[arm] = Stopwatch.GetElapsedTime(start).TotalMilliseconds;
                return RoundEnd.Next;
            },
            CancellationToken.None,
            _ =>
            {
                ratios.Add(times[1] / times[0]);
                return Task.FromResult(true);
            });
        return Spread.Of(ratios).Median;
    }
}
