using System.Globalization;

namespace Weir.Cli.Hash;

/// <summary>How much processor time the whole machine has used and left, in ticks, from <c>/proc/stat</c>.</summary>
internal readonly record struct MachineLoad(long Idle, long Total)
{
    private const int IdleAt = 4;
    private const int WaitAt = 5;
    private const int LastAt = 8;

    public static MachineLoad? Take()
    {
        try
        {
            foreach (string line in File.ReadLines("/proc/stat"))
            {
                return Parse(line);
            }
        }
        catch (IOException)
        {
            // Not this system.
        }

        return null;
    }

    /// <summary>The share of the time between two moments that no processor had work.</summary>
    public static double? IdleBetween(MachineLoad? before, MachineLoad? after) =>
        before is { } b && after is { } a && a.Total > b.Total ? (double)(a.Idle - b.Idle) / (a.Total - b.Total) : null;

    internal static MachineLoad? Parse(string line)
    {
        // cpu user nice system idle iowait irq softirq steal; what follows is counted in user already.
        string[] fields = line.Split(' ', StringSplitOptions.RemoveEmptyEntries);
        if (fields.Length <= LastAt || fields[0] != "cpu")
        {
            return null;
        }

        long At(int index) => long.Parse(fields[index], CultureInfo.InvariantCulture);
        return new MachineLoad(At(IdleAt) + At(WaitAt), Enumerable.Range(1, LastAt).Sum(At));
    }
}
