namespace Weir.Cli.Tests.Support;

/// <summary>An output in front of which someone sits, and presses Ctrl-C after some lines.</summary>
internal sealed class CountingWriter(int? most, CancellationTokenSource stop) : StringWriter
{
    private int _lines;

    public override void WriteLine(string? value)
    {
        base.WriteLine(value);
        if (++_lines == most)
        {
            stop.Cancel();
        }
    }
}
