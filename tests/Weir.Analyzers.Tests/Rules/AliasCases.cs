namespace Weir.Analyzers.Tests.Rules;

internal static class AliasCases
{
    private const string Ours = "using BufferBlock = Weir.Dataflow.BufferBlock<int>;\nusing System.Threading.Tasks.Dataflow;\n";

    private const string Theirs = "using System.Threading.Tasks.Dataflow;\n";

    public static RuleCases All { get; } = new(
        "WEIR001",
        [
            Ours + "class C { object M() => new [|BufferBlock<int>|](); }",
            Ours + "class C { [|BufferBlock<int>|]? _block; }",
            Ours + "class C { object M() { [|BufferBlock<int>|] b = new(); return b; } }",
            Ours + "class C { object M() => new [|BufferBlock<string>|](); }",
            Ours + "class C { object M() => typeof([|BufferBlock<int>|]); }",
            Ours + "class C { void M([|BufferBlock<int>|] block) { } }",
            Ours + "class C { System.Collections.Generic.List<[|BufferBlock<int>|]> M() => new(); }",
            Ours + "namespace N { class C { object M() => new [|BufferBlock<int>|](); } }",
            "using ActionBlock = global::Weir.Dataflow.ActionBlock<int>;\n" + Theirs + "class C { object M() => new [|ActionBlock<int>|](x => { }); }",
            "using System.Threading.Tasks.Dataflow;\nnamespace N\n{\n    using BufferBlock = Weir.Dataflow.BufferBlock<int>;\n"
                + "    class C { object M() => new [|BufferBlock<int>|](); }\n}",
            "using TransformBlock = Weir.Dataflow.TransformBlock<int, string>;\n" + Theirs
                + "class C { object M() => new [|TransformBlock<int, string>|](x => \"\"); object N() => new [|TransformBlock<int, int>|](x => x); }",
        ],
        [
            Ours + "class C { object M() => new BufferBlock(); }",
            Ours + "class C { object M() => new Weir.Dataflow.BufferBlock<int>(); }",
            Ours + "class C { object M() => new System.Threading.Tasks.Dataflow.BufferBlock<int>(); }",
            Ours + "class C { object M() => new BatchBlock<int>(2); }",
            Theirs + "class C { object M() => new BufferBlock<int>(); }",
            "using System.Threading.Tasks.Dataflow;\nnamespace N\n{\n    using Weir.Dataflow;\n    class C { object M() => new BufferBlock<int>(); }\n}",
            "using Weir.Dataflow;\nclass C { object M() => new BufferBlock<int>(); }",
            "using Numbers = Weir.Dataflow.BufferBlock<int>;\n" + Theirs + "class C { object M() => new BufferBlock<int>(); object N() => new Numbers(); }",
            "using BufferBlock = System.Threading.Tasks.Dataflow.BufferBlock<int>;\n" + Theirs + "class C { object M() => new BufferBlock<int>(); }",
            "using BufferBlock = Weir.Dataflow.BufferBlock<int>;\nclass C { object M() => new BufferBlock(); }",
            "using BufferBlock = Weir.Dataflow.BufferBlock<int>;\nclass BufferBlock<T> { }\nclass C { object M() => new BufferBlock<int>(); }",
        ]);
}
