namespace Weir.Delivery.Cli.Hosting;

/// <summary>An output for lines of which none may be lost.</summary>
internal interface ILineOutput
{
    /// <summary>Writes lines, each with its end. When this returns, they are where the output goes, and a file has them on its disk.</summary>
    /// <exception cref="OutputException">The output takes no more. Some of the lines may have been written.</exception>
    void Write(IEnumerable<string> lines);
}
