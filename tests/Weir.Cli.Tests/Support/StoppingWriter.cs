namespace Weir.Cli.Tests.Support;

/// <summary>An error output in front of which someone sits, and presses Ctrl-C when a certain line comes.</summary>
internal sealed class StoppingWriter(string? text, CancellationTokenSource stop) : StringWriter
{
    public override void WriteLine(string? value)
    {
        base.WriteLine(value);
        if (text is not null && value?.Contains(text, StringComparison.Ordinal) == true)
        {
            stop.Cancel();
        }
    }
}
