namespace Weir.Lab.Report.Page;

/// <summary>The part of the page that shows a profile: the flame graph with its table, and what was allocated.</summary>
internal static class ProfilePart
{
    private const int LongestName = 160;

    public static void Append(StringBuilder page, ArmRecord arm, ProfileRecord profile, string id)
    {
        page.Append("<p class=\"quiet\">").Append(HtmlPage.Html(
            "From one more round after the others, which counts in no other figure. Every millisecond, or less often on a busy machine, the stacks of the "
                + "threads are sampled. Shares are those of the threads that run the work, while they have a processor; what they wait for has a table of its "
                + "own. An inlined method counts for its caller."))
            .Append("</p>\n");
        if (profile.Samples > 0)
        {
            page.Append("<div class=\"scroll flame\" tabindex=\"0\" role=\"region\" aria-label=\"Flame graph\">\n")
                .Append(FlameGraph.Svg(profile, $"{id}-flame", $"Flame graph of {arm.Label}"))
                .Append("\n</div>\n<p class=\"quiet\">A method stands below its caller, and is as wide as the share of the samples in it and in what it "
                    + "called. The whole name and the share appear under the pointer.</p>\n");
        }

        foreach (Table table in ProfileTables.Of(arm, profile, LongestName))
        {
            HtmlPage.Append(page, table, caption: true);
        }
    }
}
