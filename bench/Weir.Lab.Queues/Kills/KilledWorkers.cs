using System.Diagnostics;
using System.Globalization;
using Weir.Lab.Processes;
using Weir.Lab.Queues.Arms;
using Weir.Lab.Queues.Measuring;

namespace Weir.Lab.Queues.Kills;

/// <summary>A worker process that is killed again and again while it handles items, each time followed by another one; the last one handles the rest.</summary>
internal static class KilledWorkers
{
    /// <summary>How often a worker is killed.</summary>
    public const int Times = 10;

    private const int HandledBefore = 100;

    private static readonly TimeSpan Look = TimeSpan.FromMilliseconds(10);
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(75);

    /// <summary>Measures.</summary>
    /// <param name="name">The arm.</param>
    /// <param name="address">Where its queue is.</param>
    /// <param name="items">How many items there are.</param>
    /// <param name="progress">Is told of each kill.</param>
    public static async Task<QueueReading> MeasureAsync(string name, QueueAddress address, int items, TextWriter progress)
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("weir-kills-");
        try
        {
            await using (IQueueArm arm = QueueArms.Create(name, address))
            {
                await arm.OpenAsync();
                await Throughput.PublishAsync(arm, 0, items);
            }

            int[] Handled() => [.. HandledFile.Read(folder.FullName)];
            int left = items;
            for (int kill = 0; kill < Times; kill++)
            {
                using Process worker = Start("worker", name, address, folder, kill);
                int before = items - left;
                await UntilAsync(() => Handled().Distinct().Count(), handled => handled >= before + HandledBefore, worker);
                worker.Kill();
                await worker.WaitForExitAsync();
                left = items - Handled().Distinct().Count();
                progress.WriteLine($"{name}: killed {kill + 1} times, {left} left");
            }

            long killed = Stopwatch.GetTimestamp();
            using Process last = Start("worker", name, address, folder, Times);
            try
            {
                long end = await UntilAsync(() => Handled().Distinct().Count(), handled => handled == items, last);
                int[] all = Handled();
                return new QueueReading(QueueReading.Kills, items)
                {
                    Seconds = Stopwatch.GetElapsedTime(killed, end).TotalSeconds,
                    Left = left,
                    Lost = items - all.Distinct().Count(),
                    Doubled = all.Length - all.Distinct().Count(),
                };
            }
            finally
            {
                last.Kill();
                await last.WaitForExitAsync();
            }
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    /// <summary>The worker: handles items, of 1 ms each, until it is killed.</summary>
    /// <param name="name">The arm.</param>
    /// <param name="address">Where its queue is.</param>
    /// <param name="file">The file that it writes what it has handled to.</param>
    public static async Task WorkAsync(string name, QueueAddress address, string file)
    {
        using HandledFile handled = new(file);
        await using IQueueArm arm = QueueArms.Create(name, address);
        await arm.StartAsync(item =>
        {
            Thread.Sleep(1);
            handled.Add(item.Number);
            return Task.CompletedTask;
        });
        await Task.Delay(Timeout.InfiniteTimeSpan);
    }

    /// <summary>Starts a worker.</summary>
    /// <param name="verb">What this program is to do.</param>
    /// <param name="name">The arm.</param>
    /// <param name="address">Where its queue is.</param>
    /// <param name="folder">The folder of the files that workers write what they have handled to.</param>
    /// <param name="number">Which worker it is.</param>
    /// <param name="more">More arguments.</param>
    public static Process Start(string verb, string name, QueueAddress address, DirectoryInfo folder, int number, params string[] more)
    {
        string file = Path.Combine(folder.FullName, number.ToString(CultureInfo.InvariantCulture));
        ProcessStartInfo info = new("dotnet", [typeof(KilledWorkers).Assembly.Location, verb, name, address.Server, address.Queue, file, .. more])
        {
            RedirectStandardOutput = true,
        };
        return Process.Start(info) ?? throw new InvalidOperationException("The worker could not be started.");
    }

    /// <summary>Waits until enough was handled.</summary>
    /// <returns>When it was so for the first time, or when nothing more had come for a long time.</returns>
    public static async Task<long> UntilAsync(Func<int> read, Func<int, bool> isEnough, Process worker)
    {
        (int seen, long at) = (-1, Stopwatch.GetTimestamp());
        while (true)
        {
            int now = read();
            if (now != seen)
            {
                (seen, at) = (now, Stopwatch.GetTimestamp());
            }

            if (isEnough(now) || Stopwatch.GetElapsedTime(at) > Patience)
            {
                return at;
            }

            if (worker.HasExited)
            {
                throw new InvalidOperationException($"The worker ended by itself, with exit code {worker.ExitCode}.");
            }

            await Task.Delay(Look);
        }
    }
}
