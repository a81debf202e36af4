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
}
