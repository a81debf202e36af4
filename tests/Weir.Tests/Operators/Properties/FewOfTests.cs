using System.Reflection;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Properties;

/// <summary>What the tests leave out that run over some cases only is tested by others of them.</summary>
public class FewOfTests
{
    private static readonly (MethodInfo Test, ITheoryDataRow[] Rows)[] All =
    [
        .. from type in typeof(FewOfTests).Assembly.GetTypes()
           from test in type.GetMethods()
           let few = test.GetCustomAttribute<FewOfAttribute>()
           where few is not null
           select (test, few.Few(test).ToArray()),
    ];

    [Fact]
    public void Tests_OverFewCases_HaveEachFamilyWithEachSource()
    {
        HashSet<(OperatorFamily, SourceKind)> pairs =
        [
            .. from entry in All
               from row in entry.Rows
               let data = row.GetData()
               from family in data.OfType<OperatorFamily>()
               from kind in data.OfType<SourceKind>()
               select (family, kind),
        ];
        Assert.Equal(Cases.Families.SelectMany(static _ => Cases.Kinds, static (family, kind) => (family, kind)).Except(pairs), []);
        Assert.True(All.Length > 30, "Few tests run over few cases.");
    }

    [Fact]
    public void Cases_OfATest_AreHardlyMoreThanTheValuesOfAColumn() => Assert.All(All, static entry =>
    {
        object?[][] rows = [.. entry.Rows.Select(static row => row.GetData())];
        int longest = Enumerable.Range(0, rows[0].Length).Max(column => rows.Select(row => row[column]).Distinct().Count());
        Assert.InRange(rows.Length, longest, longest + 3);
    });
}
