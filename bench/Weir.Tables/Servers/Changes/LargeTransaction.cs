using Weir.Delivery.Cli.App;

namespace Weir.Tables.Servers.Changes;

/// <summary>One transaction of very many rows, through <c>weir-work cdc</c> in a process of its own.</summary>
internal static class LargeTransaction
{
    private const int Look = 500_000;

    /// <summary>Reads it.</summary>
    /// <returns>How many changes came, the most memory that the process had, and how long it took.</returns>
    public static async Task<(long Rows, long Bytes, TimeSpan Time)> ReadAsync(FigureDatabase database, string slot, long rows, CancellationToken stop)
    {
        ProcessStartInfo info = OwnProgram.StartInfo(
            typeof(WorkApp).Assembly, ["cdc", "--publication", StreamArms.Publication, "--slot", slot, "--setup", "--quiet"]);
        info.Environment["WEIR_SOURCE"] = database.Connection;
        info.RedirectStandardOutput = true;
        using Process process = Process.Start(info)!;
        try
        {
            long started = Stopwatch.GetTimestamp();
            long lines = 0;
            long bytes = 0;
            long nextLook = Look;
            byte[] buffer = new byte[1 << 16];
            while (lines < rows && await process.StandardOutput.BaseStream.ReadAsync(buffer, stop) is > 0 and int read)
            {
                lines += buffer.AsSpan(0, read).Count((byte)'\n');
                if (lines >= nextLook)
                {
                    nextLook += Look;
                    process.Refresh();
                    bytes = process.PeakWorkingSet64;
                }
            }

            process.Refresh();
            return (lines, process.HasExited ? bytes : process.PeakWorkingSet64, Stopwatch.GetElapsedTime(started));
        }
        finally
        {
            process.Kill();
            await process.WaitForExitAsync(CancellationToken.None);
        }
    }
}
