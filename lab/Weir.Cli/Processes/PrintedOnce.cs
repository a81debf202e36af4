namespace Weir.Cli.Processes;

/// <summary>Passes on the first lines that measured code prints: code that prints in every operation repeats itself.</summary>
internal sealed class PrintedOnce(RunProgress progress)
{
    private const int Most = 20;
    private int _printed;

    public void Print(string line)
    {
        if (Interlocked.Increment(ref _printed) <= Most)
        {
            progress.WriteLine(line);
        }
    }

    /// <summary>Reports how many lines were left out.</summary>
    public void WriteOmitted()
    {
        if (_printed > Most)
        {
            progress.WriteLine($"weir: the measured code printed {Numbers.Grouped(_printed - Most)} more lines.");
        }
    }
}
