using System.Runtime.CompilerServices;

namespace Weir.Lab.Suites.Tests;

public class DataflowPeersTests
{
    [Fact]
    public void InBoxAndWeirBlocks_Text_DiffersByOneUsing()
    {
        string folder = Path.Combine(Path.GetDirectoryName(File())!, "..", "..", "lab", "Weir.Lab.Suites", "Peers", "Dataflow");
        Assert.SkipUnless(Directory.Exists(folder), "The sources are not there.");
        Assert.Equal(Body(folder, "InBoxBlocks.cs"), Body(folder, "WeirBlocks.cs"));
    }

    // From the class on, without its name.
    private static string Body(string folder, string name)
    {
        string text = System.IO.File.ReadAllText(Path.Combine(folder, name));
        return text[text.IndexOf("{\n", StringComparison.Ordinal)..];
    }

    private static string File([CallerFilePath] string path = "") => path;
}
