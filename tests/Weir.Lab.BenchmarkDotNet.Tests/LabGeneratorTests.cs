using Weir.Lab.Benchmarks.Building;

namespace Weir.Lab.Benchmarks.Tests;

public class LabGeneratorTests
{
    [Theory]
    [InlineData("App.csproj")]
    [InlineData("App.fsproj")]
    [InlineData("App.vbproj")]
    public void Find_ProjectOfALanguage_FromWhereTheProgramIs(string file)
    {
        DirectoryInfo root = Directory.CreateTempSubdirectory("weir-find-");
        try
        {
            string bin = root.CreateSubdirectory("bin").FullName;
            string project = Path.Combine(root.CreateSubdirectory("src").FullName, file);
            File.WriteAllText(Path.Combine(root.FullName, "global.json"), "{}");
            File.WriteAllText(project, "<Project />");

            // It begins with the same name, and is another project.
            File.WriteAllText(Path.Combine(root.CreateSubdirectory("tests").FullName, "App.Tests.csproj"), "<Project />");

            Assert.Equal(project, LabGenerator.Find("App", bin));
        }
        finally
        {
            root.Delete(recursive: true);
        }
    }
}
