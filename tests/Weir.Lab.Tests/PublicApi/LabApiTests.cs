using Weir.Lab.Workers;
using Weir.TestKit;
using Weir.Tests.PublicApi;

namespace Weir.Lab.Tests.PublicApi;

/// <summary>
/// The public API of the lab is a text file, as those of the packages are. A wanted change is accepted with WEIR_ACCEPT_API=1, which writes the file anew.
/// </summary>
public class LabApiTests
{
    [Fact]
    public void Lab_PublicApi_IsTheReviewedOne()
    {
        string actual = ApiText.Of(typeof(IWorkload).Assembly);
        string file = Path.Combine(Repository.Root, "tests", "Weir.Lab.Tests", "PublicApi", "Weir.Lab.txt");
        if (Environment.GetEnvironmentVariable("WEIR_ACCEPT_API") == "1")
        {
            File.WriteAllText(file, actual);
        }

        string[] reviewed = File.Exists(file) ? File.ReadAllLines(file) : [];
        string[] now = actual.TrimEnd('\n').Split('\n');
        Assert.True(
            reviewed.SequenceEqual(now),
            "The public API of Weir.Lab is not the reviewed one of PublicApi/Weir.Lab.txt. If the change is wanted, run this test with WEIR_ACCEPT_API=1 and "
            + "put the file into the same commit.\n"
            + string.Join('\n', reviewed.Except(now).Select(static l => "- " + l.Trim()).Concat(now.Except(reviewed).Select(static l => "+ " + l.Trim()))));
    }
}
