namespace Weir.Tests.Resolution.Shapes;

public class OverloadTextTests
{
    [Fact]
    public void Files_OfTheOtherShapes_AreWhatIsWrittenFromTheFirst()
    {
        (string File, string Text)[] files = [.. OverloadText.Files()];
        if (Environment.GetEnvironmentVariable("WEIR_ACCEPT_OVERLOADS") == "1")
        {
            Assert.All(files, static f => File.WriteAllText(f.File, f.Text));
        }

        int actions = OverloadText.Operators.Count(static o => o.StartsWith("ForEach", StringComparison.Ordinal));
        Assert.Equal((3 * (OverloadText.Operators.Length + 1)) + actions, files.Length);
        Assert.All(files, static f => Assert.True(
            File.Exists(f.File) && File.ReadAllText(f.File).ReplaceLineEndings("\n") == f.Text,
            $"{Path.GetFileName(f.File)} is not what is written from the overloads for value tasks. Run this test with WEIR_ACCEPT_OVERLOADS=1."));
    }
}
