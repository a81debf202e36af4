namespace Weir.Delivery.Cli.Hosting;

/// <summary>Lines to a writer of text.</summary>
internal sealed class TextLines(TextWriter output) : ILineOutput
{
    public void Write(IEnumerable<string> lines)
    {
        foreach (string line in lines)
        {
            output.WriteLine(line);
        }

        output.Flush();
    }
}
