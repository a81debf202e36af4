using System.Threading.Channels;
using Weir.TestKit;

namespace Weir.Tests.Observability;

internal static class ReportTicks
{
    /// <summary>
    /// Moves the clock until there is a report. A tick that comes while the last report is still being ended is skipped; the next comes after a real while, so
    /// that the run's own time hardly passes.
    /// </summary>
    public static async Task<T> NextTickAsync<T>(this ChannelReader<T> reports, ManualTimeProvider time, TimeSpan interval)
    {
        while (true)
        {
            time.Advance(interval);
            for (int looks = 0; looks < 100; looks++)
            {
                if (reports.TryRead(out T? report))
                {
                    return report;
                }

                await Task.Delay(TimeSpan.FromMilliseconds(1), TimeProvider.System);
            }
        }
    }
}
