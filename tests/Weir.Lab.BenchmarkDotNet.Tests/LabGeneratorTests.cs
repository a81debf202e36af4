using System.Xml.Linq;
using Weir.Lab.Benchmarks.Building;

namespace Weir.Lab.Benchmarks.Tests;

public class LabGeneratorTests
{
    [Fact]
    public void ReferToAssemblies_ProjectReference_BecomesWhatIsBuiltBesideTheProgram()
    {
        XDocument project = XDocument.Parse(
            """<Project><ItemGroup><Compile Include="code.cs" /></ItemGroup><ItemGroup><ProjectReference Include="/a/b.csproj" /></ItemGroup></Project>""");

        LabGenerator.ReferToAssemblies(project, AppContext.BaseDirectory);

        Assert.Empty(project.Descendants("ProjectReference"));
        XElement lab = Assert.Single(project.Descendants("Reference"), static r => r.Attribute("Include")!.Value == "Weir.Lab");
        Assert.Equal(Path.Combine(AppContext.BaseDirectory, "Weir.Lab.dll"), lab.Element("HintPath")!.Value);
        Assert.Single(project.Descendants("Compile"));
    }

    [Fact]
    public void ReferToAssemblies_NoProjectReference_ChangesNothing()
    {
        XDocument project = XDocument.Parse("""<Project><ItemGroup><Reference Include="x" /></ItemGroup></Project>""");
        string before = project.ToString();

        LabGenerator.ReferToAssemblies(project, AppContext.BaseDirectory);

        Assert.Equal(before, project.ToString());
    }

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

            Assert.Equal(project, LabGenerator.Find("App", bin));
        }
        finally
        {
            root.Delete(recursive: true);
        }
    }
}
