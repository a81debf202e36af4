using Weir.Cli.Progress;
using Weir.Lab.Formatting;

namespace Weir.Cli.Processes;

/// <summary>Passes on what measured code prints: the first lines, because who prints in every operation says the same again and again.</summary>
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

    /// <summary>Says how many lines were left out.</summary>
    public void WriteOmitted()
    {
        if (_printed > Most)
        {
            progress.WriteLine($"weir: the measured code printed {Numbers.Grouped(_printed - Most)} more lines.");
        }
    }
}
