using System.Runtime.CompilerServices;

namespace Weir.Lab.Suites.Tests;

public class DataflowPeersTests
{
    [Theory]
    [InlineData("Blocks")]
    [InlineData("Programs")]
    public void InBoxAndWeir_Text_DiffersByOneUsing(string what)
    {
        string folder = Path.Combine(Path.GetDirectoryName(File())!, "..", "..", "lab", "Weir.Lab.Suites", "Peers", "Dataflow");
        Assert.SkipUnless(Directory.Exists(folder), "The sources are not there.");
        Assert.Equal(Body(folder, $"InBox{what}.cs"), Body(folder, $"Weir{what}.cs"));
    }

    // From the class on, without its name.
    private static string Body(string folder, string name)
    {
        string text = System.IO.File.ReadAllText(Path.Combine(folder, name));
        return text[text.IndexOf("{\n", StringComparison.Ordinal)..];
    }

    private static string File([CallerFilePath] string path = "") => path;
}
